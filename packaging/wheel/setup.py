# SPDX-License-Identifier: LGPL-2.1-or-later
"""What pyproject.toml cannot say: one wheel for every Python 3, for one kind of machine."""
import setuptools
from setuptools.command.bdist_wheel import bdist_wheel


class ForEveryPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithPlugin(setuptools.Distribution):
    def has_ext_modules(self):
        return True


setuptools.setup(distclass=WithPlugin, cmdclass={"bdist_wheel": ForEveryPython})
