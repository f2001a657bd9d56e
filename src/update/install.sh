#!/bin/sh
# Installs Portcullis from the folder of a release: sudo sh install.sh https://example.org/portcullis/1.2.3/
# It downloads the Debian package, verifies it by the key below, and installs it with apt-get. Nothing is run before it
# is verified. The network stays as it is until you type: sudo portcullis setup

fail() {
  echo "install.sh: $*; nothing was installed" >&2
  exit 1
}

# Gets a file of the release, by https only, and not more than 256 MiB in half an hour.
get() {
  download "$1" || fail "$1 could not be downloaded from $base"
}

download() (
  ulimit -f 524288
  if command -v curl >/dev/null; then
    curl -fsSL --proto =https --proto-redir =https --connect-timeout 30 --max-time 1800 -o "$1" "$base$1"
  else
    # A redirect to http would go to a proxy that does not exist.
    http_proxy=http://127.0.0.1:9/ no_proxy='' timeout 1800 wget -q --timeout=30 --tries=2 -O "$1" "$base$1"
  fi
)

main() {
  set -eu
  base=${1:-}
  case $base in https://*/) ;; *) fail "name the folder of a release, as https://.../ with a slash at its end" ;; esac
  [ "$(id -u)" = 0 ] || fail "this needs root: sudo sh install.sh $base"
  command -v ssh-keygen >/dev/null || fail "ssh-keygen is missing: apt-get install openssh-client"
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  trap 'exit 1' HUP INT TERM
  cd "$folder"
  cat >signers <<'END'
@SIGNERS@
END
  grep -q '^portcullis ' signers || fail "this copy has no key to verify with; use the install.sh of a release"

  get SHA256SUMS
  get SHA256SUMS.sig
  ssh-keygen -Y verify -f signers -I portcullis -n portcullis-release -s SHA256SUMS.sig <SHA256SUMS >/dev/null ||
    fail "SHA256SUMS is not signed by Portcullis's release key: do not use the files of $base"
  architecture=$(dpkg --print-architecture)
  package=$(sed -n "s/^[0-9a-f]\{64\}  \(portcullis_[0-9.]*_$architecture\.deb\)\$/\1/p" SHA256SUMS)
  [ "$(echo "$package" | wc -w)" = 1 ] || fail "this release has no package for $architecture"
  get "$package"
  grep "  $package\$" SHA256SUMS | sha256sum --check --status ||
    fail "$package is incomplete or was altered: try again, and if that does not help, do not use $base"

  apt-get install --yes --no-install-recommends -o APT::Sandbox::User=root "./$package" || {
    echo "install.sh: apt-get failed, see above; if a package is not installable, type apt-get update and try again" >&2
    exit 1
  }
  echo "Portcullis is installed. If this machine is not a gateway yet: sudo portcullis setup"
}

main "$@"
