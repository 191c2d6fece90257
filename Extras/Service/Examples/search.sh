#!/bin/sh
# Puts an image into a catalog and searches for a photo, with curl.
#
# search.sh URL IMAGE PHOTO; LOOKALIKE_KEY has the API key, if the service wants one.
set -eu
url=$1 image=$2 photo=$3
call() { curl --silent --show-error --fail-with-body -H "X-API-Key: ${LOOKALIKE_KEY:-}" "$@"; }
[ -n "${LOOKALIKE_KEY:-}" ] || call() { curl --silent --show-error --fail-with-body "$@"; }

call -X PUT "$url/v1/catalogs/curl" > /dev/null
call -X PUT -H "Content-Type: image/jpeg" --data-binary "@$image" \
    "$url/v1/catalogs/curl/entities/first?title=The+first&attribute.year=2026" > /dev/null
call -H "Content-Type: image/jpeg" --data-binary "@$photo" "$url/v1/catalogs/curl/search?limit=5"
echo
call -X DELETE "$url/v1/catalogs/curl"
