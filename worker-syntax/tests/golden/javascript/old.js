import a from "a";

export class Store {
  get(key) {
    return this.map.get(key);
  }
}

const load = async (path) => {
  const text = await read(path);
  return JSON.parse(text);
};

export const routes = {
  home: () => page("home"),
  list(query) {
    return find(query);
  },
};
