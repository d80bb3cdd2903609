import os
import sys


class Shape:
    def area(self):
        return 0

    @property
    def name(self):
        return "shape"


def main(argv):
    shape = Shape()
    if argv:
        print(shape.area())
        print("done  now")
    return 0
