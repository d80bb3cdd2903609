#!/bin/bash
set -e

build() {
  echo "building $1"
  make -j2
}

function clean {
  rm -rf out
}

build all
