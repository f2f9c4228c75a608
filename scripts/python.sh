# Sourced by the scripts that install something: env.sh, and functions that find Python and uv.
# shellcheck shell=bash
#
# Python is the first of these: $UV_PYTHON (a path or a version); the one of the existing .venv; 3.14, which Sublime Text embeds, from PATH
# or from uv; the newest on PATH from 3.11 on. Every candidate is tried in another folder, because version managers obey the
# .python-version in this one, which is meant for Sublime Text.

# Use the system's certificates, as other programs do: a company's proxy may have its own.
export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-1}

. scripts/env.sh

say() { echo "${0##*/}: $*"; }
fail() {
  say "$*" >&2
  exit 1
}

# Prints the real path of the interpreter $1 if it is Python 3.$2 or newer.
probe() {
  (cd / && "$1" -c 'import sys; sys.version_info >= (3, int(sys.argv[1])) or sys.exit(1); print(sys.executable)' "$2") 2>/dev/null
}

first_python() { # prints the first of the candidates $2… that is Python 3.$1 or newer
  local minor=$1 candidate
  shift
  for candidate in "$@"; do
    probe "$candidate" "$minor" && return
  done
  return 1
}

find_uv() {
  if type -P uv; then return; fi
  local home=$root/.cache/uv python
  if [[ ! -f $home/stamp ]] || ! cmp -s requirements/uv.txt "$home/stamp"; then
    for python in ${UV_PYTHON:+"$UV_PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python /usr/bin/python3; do
      (cd / && "$python" -m pip --version) >/dev/null 2>&1 || continue
      rm -rf "$home"
      (cd / && "$python" -m pip install -qq --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --target "$home" -r "$root/requirements/uv.txt") >&2 || fail "pip could not install uv."
      cp requirements/uv.txt "$home/stamp"
      break
    done
    [[ -f $home/stamp ]] || fail "No uv and no Python with pip on PATH; install either of them and try again."
  fi
  echo "$home/bin/uv"
}

find_python() {
  if [[ -n ${UV_PYTHON:-} ]]; then
    first_python 11 "$UV_PYTHON" || first_python 11 "$("$(find_uv)" python find --no-project "$UV_PYTHON")" ||
      fail "UV_PYTHON is \"$UV_PYTHON\", which is no Python from 3.11 on."
    return
  fi
  if [[ -f .venv/interpreter ]] && probe "$PYTHON" 11 >/dev/null; then
    cat .venv/interpreter
    return
  fi
  first_python 14 python3.14 && return
  local uv
  uv=$(find_uv)
  if "$uv" python find --no-project 3.14 >/dev/null 2>&1 || "$uv" python install --no-bin 3.14 >/dev/null 2>&1; then
    first_python 14 "$("$uv" python find --no-project 3.14)" && return
  fi
  first_python 11 python3.13 python3.12 python3.11 python3 python /usr/bin/python3 ||
    fail "No Python from 3.11 on was found; set UV_PYTHON to the path of one."
}
