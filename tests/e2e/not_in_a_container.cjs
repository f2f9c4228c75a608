// Preloaded into a CLI under test. It hides the signs of a container, so the CLI connects to 127.0.0.1 (gemini-ide.md §1.4, qwen-ide.md §1.1).
const fs = require('node:fs');
const { existsSync } = fs;
const signs = new Set(['/.dockerenv', '/run/.containerenv']);
fs.existsSync = (path) => !signs.has(path) && existsSync(path);
require('node:module').syncBuiltinESMExports();
