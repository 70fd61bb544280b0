# SPDX-License-Identifier: LGPL-2.1-or-later
"""Texts in the user's language, where there is a translation."""
import gettext
import os

DOMAIN = "cudafilters-tuner"

_catalogue = gettext.translation(DOMAIN, os.environ.get("CUDAFILTERS_TUNER_LOCALE"), fallback=True)


def _(text):
    """`text` translated; the texts of the plugin, which has none of its own, go through it, too."""
    return _catalogue.gettext(text) if text else text
