export interface Options {
  depth: number;
  follow?: boolean;
}

export abstract class Walker<T> {
  abstract visit(node: T, depth: number): void;

  constructor(private readonly options: Options) {}

  walk(node: T): boolean {
    return this.options.depth > 1;
  }
}

type Id = string | number;

namespace Inner {
  export enum Colour { Red, Blue }
}
