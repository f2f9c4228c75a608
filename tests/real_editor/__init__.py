"""What the package assumes about the editor, tried in it: docs/dev/real-editor.md lists the tests and how to run them.

UnitTesting imports the tests of a folder as a part of the package only if the folder has this file.
"""
