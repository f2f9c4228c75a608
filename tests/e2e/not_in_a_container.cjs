// Preloaded into a CLI under test. It hides the signs of a container, so the CLI connects to 127.0.0.1 (docs/protocols/gemini-ide.md#http).
const fs = require('node:fs');
const { existsSync } = fs;
const signs = new Set(['/.dockerenv', '/run/.containerenv']);
fs.existsSync = (path) => !signs.has(path) && existsSync(path);
require('node:module').syncBuiltinESMExports();
