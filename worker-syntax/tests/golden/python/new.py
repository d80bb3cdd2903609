import os
import sys


class Shape:
    def area(self, scale=1):
        return 0 * scale

    @cached_property
    def name(self):
        return "shape"


def main(argv):
    shape = Shape()
    if argv:
        print(shape.area())
    print("done  now")
    return 0
