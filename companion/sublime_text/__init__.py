"""The adapter: the companion's port to the editor on Sublime Text's API, with its listeners and commands.

Only this room and plugin.py import `sublime`. It may import everything else, at run time only what needs the standard
library alone. Start with `adapter`, the one object that is made when the package is loaded, and makes the parts;
`package` holds it. The companion calls the parts themselves, and `bridge` brings that to the UI thread, and what the
parts ask back to the companion; what the editor tells is in `listeners`. Each subfolder has the views, commands and
listeners of one room, such as `review`, `chat` or `terminal`.

A project's settings apply at once: each call looks whether they have changed, so a project that becomes stricter holds
for the next context. All text of others goes into minihtml through `minihtml.safe`; a test finds every place.
"""
