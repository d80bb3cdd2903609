export interface Options {
  depth: number;
}

export abstract class Walker<T> {
  abstract visit(node: T): void;

  constructor(private readonly options: Options) {}

  walk(node: T): boolean {
    return this.options.depth > 0;
  }
}

type Id = string;

namespace Inner {
  export enum Colour { Red, Green }
}
