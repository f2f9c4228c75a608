#!/usr/bin/env bash
exec "$FIDELITY_PYTHON" "$@"
