"""What the editor knows of the files: the problems that it shows, symbols, the person's tabs and selection.

Start with `problems`: it asks the package LSP (`lsp`), else SublimeLinter, else looks at the results of a build.
`tools` asks LSP or the editor's index for symbols. Nothing here waits: an answer comes later, on the UI thread.
"""
