#!/bin/sh
# Builds a release in dist/: archives for every platform, deb and rpm, the AWS Lambda functions,
# completions, man pages, an SBOM, checksums, and a Homebrew formula. `make release VERSION=v0.1.0`;
# PLATFORMS selects platforms, PACKAGES= skips deb and rpm, LAMBDA= the functions.
set -eu
cd "$(dirname "$0")/.."
version=${1:?usage: release.sh v0.1.0}
case $version in
v[0-9]*.[0-9]*.[0-9]*) ;;
*) echo "release.sh: $version is not a version; write v0.1.0" >&2 && exit 2 ;;
esac
plain=${version#v}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}
packages=${PACKAGES-deb rpm}
lambda=${LAMBDA-arm64 x86_64}
dist=$PWD/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$dist" && mkdir -p "$dist"
# The binary contains its commit if git knows it.
vcs=false
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then vcs=true; fi

build() { # OS ARCH FILE
	CGO_ENABLED=0 GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=$vcs -ldflags "-s -w -X main.version=$version" -o "$3" ./cmd/interlock
}

echo 'completions and man pages'
build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/interlock"
mkdir -p "$work/docs/completions" "$work/docs/man"
"$work/interlock" completion bash >"$work/docs/completions/interlock.bash"
"$work/interlock" completion zsh >"$work/docs/completions/_interlock"
"$work/interlock" completion fish >"$work/docs/completions/interlock.fish"
"$work/interlock" completion powershell >"$work/docs/completions/interlock.ps1"
"$work/interlock" man "$work/docs/man"

# The packages install the unit, so the comments on installing it by hand are removed.
sed -e '1,/^\[Unit\]/{/^#/d;}' -e 's|/usr/local/bin/interlock|/usr/bin/interlock|' deploy/systemd/interlock.service >"$work/docs/interlock.service"

for platform in $platforms; do
	os=${platform%/*} arch=${platform#*/} name=interlock_${plain}_${platform%/*}_${platform#*/}
	echo "$name"
	mkdir "$work/$name"
	binary=interlock
	[ "$os" != windows ] || binary=interlock.exe
	build "$os" "$arch" "$work/$name/$binary"
	cp LICENSE README.md CHANGELOG.md "$work/$name"
	cp -R "$work/docs/completions" "$work/docs/man" "$work/$name"
	if [ "$os" = windows ]; then
		go run ./deploy/pack "$work/$name" "$dist/$name.zip"
	else
		tar -C "$work" -czf "$dist/$name.tar.gz" "$name"
	fi
	sh scripts/sbom.sh "$work/$name/$binary" "$version" >"$dist/$name.sbom.cdx.json"
	[ "$os" = linux ] || continue
	for package in $packages; do
		ARCH=$arch VERSION=$plain BINARY=$work/$name/interlock DOCS=$work/docs \
			go tool -modfile=tools.mod nfpm package -f deploy/packages/nfpm.yaml -p "$package" -t "$dist"
	done
done

for arch in $lambda; do
	name=interlock-lambda_${plain}_$arch
	echo "$name"
	ARCH=$arch sh deploy/build.sh "$work/$name" >/dev/null
	(cd "$work/$name" && tar -czf "$dist/$name.tar.gz" -- *.zip)
done

sum=$(command -v sha256sum || echo shasum -a 256)
(cd "$dist" && $sum -- * >checksums.txt)
formula=$work/interlock.rb
sed -e '1{/^#/d;}' -e "s/@VERSION@/$plain/g" deploy/homebrew/interlock.rb >"$formula"
for platform in darwin_arm64 darwin_amd64 linux_arm64 linux_amd64; do
	digest=$(awk -v f="interlock_${plain}_$platform.tar.gz" '$2 == f { print $1 }' "$dist/checksums.txt")
	[ -n "$digest" ] || { echo "no Homebrew formula: $platform was not built" && formula= && break; }
	sed "s/@SHA256_$platform@/$digest/" "$formula" >"$formula.next" && mv "$formula.next" "$formula"
done
[ -z "$formula" ] || cp "$formula" "$dist/interlock.rb"
ls -l "$dist"
