#!/bin/bash
set -eu

build() {
  echo "building $1 now"
  make -j4
}

function clean {
  rm -rf out target
}

build all
