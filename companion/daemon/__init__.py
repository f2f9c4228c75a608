"""The chat's side of the package: a client of `qwen serve`, free of Sublime Text. Facts: contract/qwen-serve.md."""
