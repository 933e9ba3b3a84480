#!/bin/sh
# Builds Loom.xcframework for iOS, its simulator and macOS. Needs a Mac with Xcode and CMake. Not run: no Mac was available.
#
#   tools/xcframework.sh [FOLDER]        default: build/xcode
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/xcode}
command -v xcodebuild >/dev/null || { echo "xcframework.sh: no xcodebuild: run it on a Mac with Xcode" >&2; exit 1; }

# build NAME SYSTEM SDK ARCHITECTURES: a dynamic library of one platform
build() {
  cmake -S "$root" -B "$out/$1" -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME="$2" -DCMAKE_OSX_SYSROOT="$3" \
    -DCMAKE_OSX_ARCHITECTURES="$4" -DLOOM_TESTS=OFF -DLOOM_EXAMPLES=OFF -DLOOM_PROGRAM=OFF
  cmake --build "$out/$1" --target loom_shared
}
build ios iOS iphoneos arm64
build simulator iOS iphonesimulator arm64
build macos Darwin macosx arm64

rm -rf "$out/Loom.xcframework"
xcodebuild -create-xcframework -output "$out/Loom.xcframework" \
  -library "$out/ios/libloom.dylib" -headers "$root/include" \
  -library "$out/simulator/libloom.dylib" -headers "$root/include" \
  -library "$out/macos/libloom.dylib" -headers "$root/include"
echo "$out/Loom.xcframework"
