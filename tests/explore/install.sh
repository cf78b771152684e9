#!/bin/sh
# The pages that `heat explore` makes are tested in Chromium: find one, or install the system's.
set -eu

if [ -n "${HEAT_BROWSER:-}" ]; then
    exit 0
fi
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" > /dev/null; then
        exit 0
    fi
done
if command -v apt-get > /dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null
    exit 0
fi
echo "the tests need Chromium: install it, or name another browser of its kind in HEAT_BROWSER" >&2
exit 1
