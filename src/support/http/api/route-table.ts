import type { Route } from './route.ts';

/** Routes whose code is loaded at the first request for one of their paths. */
export interface RouteGroup {
  readonly paths: readonly string[];
  load(): Promise<readonly Route[]> | readonly Route[];
}

export interface FoundRoutes {
  /** The routes of the path, one for each method. */
  readonly routes: readonly Route[];
  /** The values of `:name` in the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** The routes of a service by their paths. */
export class RouteTable {
  readonly groups: readonly RouteGroup[];
  readonly #loaded = new Map<RouteGroup, Promise<readonly Route[]>>();

  constructor(groups: readonly RouteGroup[]) {
    this.groups = groups;
  }

  /** Every path once, in route form: `/v1/traces/:trace_id`. */
  get paths(): readonly string[] {
    return [...new Set(this.groups.flatMap(({ paths }) => paths))];
  }

  /** @throws errors of loading the code. */
  async routesAt(path: string): Promise<readonly Route[]> {
    const groups = this.groups.filter(({ paths }) => paths.includes(path));
    const loaded = await Promise.all(groups.map((group) => this.#load(group)));
    return loaded.flat().filter((route) => route.path === path);
  }

  async all(): Promise<readonly Route[]> {
    return (await Promise.all(this.groups.map((group) => this.#load(group)))).flat();
  }

  /** The routes for a request's path; undefined for an unknown path. */
  async find(pathname: string): Promise<FoundRoutes | undefined> {
    for (const path of this.paths) {
      const params = matchPath(path, pathname);
      if (params !== undefined) return { routes: await this.routesAt(path), params };
    }
    return undefined;
  }

  #load(group: RouteGroup): Promise<readonly Route[]> {
    const known = this.#loaded.get(group);
    if (known !== undefined) return known;
    const loading = Promise.resolve(group.load()).then((routes) => checked(group, routes));
    this.#loaded.set(group, loading);
    loading.catch(() => this.#loaded.delete(group)); // The next request tries again.
    return loading;
  }
}

/** A group of routes that are already loaded. */
export function groupOf(...routes: readonly Route[]): RouteGroup {
  return { paths: [...new Set(routes.map(({ path }) => path))], load: () => routes };
}

/** Makes sure that a group lists the paths of all its routes. Otherwise a route could never be found. */
function checked({ paths }: RouteGroup, routes: readonly Route[]): readonly Route[] {
  const lost = routes.find(({ path }) => !paths.includes(path));
  if (lost !== undefined) throw new TypeError(`${lost.path} is not among the paths of its group: ${paths.join(', ')}`);
  return routes;
}

function matchPath(path: string, pathname: string): Readonly<Record<string, string>> | undefined {
  const wanted = path.split('/');
  const given = pathname.split('/');
  const rest = wanted.at(-1);
  if (rest?.startsWith('*')) given.splice(wanted.length - 1, given.length, given.slice(wanted.length - 1).join('/'));
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (!/^[:*]/.test(part)) {
      if (part !== value) return undefined;
    } else if (value === '') return undefined;
    else params[part.slice(1)] = value;
  }
  return decoded(params);
}

/** Decodes path parameters; undefined for an invalid encoding, which matches no route. */
function decoded(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
  try {
    return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined;
  }
}
