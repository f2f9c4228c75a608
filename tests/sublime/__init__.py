"""The tests of the package in an editor, be it the headless or the real one.

UnitTesting imports the tests of a folder as a part of the package only if the folder has this file.
"""
