import a from "a";

export class Store {
  get(key, fallback) {
    return this.map.get(key) ?? fallback;
  }
}

const load = async (path, encoding) => {
  const text = await read(path, encoding);
  return JSON.parse(text);
};

export const routes = {
  home: () => page("start"),
  list(query) {
    return find(query, { limit: 10 });
  },
};
