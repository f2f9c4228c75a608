"""The adapter: the companion's editor port on Sublime Text's API, its listeners and its commands."""
