#!/bin/sh
# Fetch the models and data that tests use: see tools/fetch_data.py --help.
exec "${PYTHON:-python3}" "$(dirname "$0")/fetch_data.py" "$@"
