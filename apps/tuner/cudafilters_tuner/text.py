# SPDX-License-Identifier: LGPL-2.1-or-later
"""Translations of texts."""
import gettext
import os

DOMAIN = "cudafilters-tuner"

_catalogue = gettext.translation(DOMAIN, os.environ.get("CUDAFILTERS_TUNER_LOCALE"), fallback=True)


def _(text):
    """`text` in the user's language. Also for texts of the plugin, which has no translations."""
    return _catalogue.gettext(text) if text else text
