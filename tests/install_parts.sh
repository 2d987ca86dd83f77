#!/usr/bin/env bash
# Install the real parts that some tests need (a browser, a database server, a Java runtime, R) where that may be done:
# as root on a Debian system. Elsewhere nothing is installed, and the tests say in one line each what was not run.
set -u
wanted=()
command -v chromium >/dev/null || wanted+=(chromium fonts-noto-core)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || wanted+=(postgresql)
command -v java >/dev/null || wanted+=(default-jre-headless)
Rscript -e 'library(jsonlite)' >/dev/null 2>&1 || wanted+=(r-base-core r-cran-jsonlite)
[ ${#wanted[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "not installed (needs root and apt-get): ${wanted[*]}; the tests that need them say so"
  exit 0
fi
echo "installing ${wanted[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null ||
  echo "could not install ${wanted[*]}; the tests that need them say so"
exit 0
