# Sourced by the other scripts after scripts/setup: the paths of this folder's tools.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
NODE_MODULES=$root/tests/npm/node_modules
QWEN=$NODE_MODULES/@qwen-code/qwen-code/cli-entry.js # run it with "$NODE" "$QWEN"

case $(uname -s) in
  MINGW* | MSYS* | CYGWIN*) PYTHON=$root/.venv/Scripts/python.exe ;;
  *) PYTHON=$root/.venv/bin/python ;;
esac

# Prints the path of Node: the machine's own if it is 22 or newer, as the CLI requires, or else the one that scripts/setup installed from npm.
find_node() {
  local candidate
  for candidate in "$(type -P node || true)" "$root"/tests/npm/node/node_modules/node-*/bin/node*; do
    if [[ -x $candidate ]] && (cd / && "$candidate" -e 'process.exit(parseInt(process.versions.node) >= 22 ? 0 : 1)') 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}
NODE=$(find_node)

export PYTHON NODE NODE_MODULES QWEN
