import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** From the top down. A file may import from its own folder and from the lines below; folders of one line never meet. */
const LAYERS: readonly (readonly string[])[] = [
  ['cli', 'testing'],
  ['run-service', 'scenario-server', 'bridges'],
  ['training', 'trust'],
  ['evaluations', 'seats'],
  ['rollout', 'queue', 'web', 'trace-routes', 'config', 'dev'],
  ['client', 'service-client', 'model', 'trace', 'accounts', 'tasks', 'agents'],
  ['mcp'],
  ['upstream'],
  ['mcp-client'],
  ['environment', 'http', 'database', 'process', 'telemetry'],
  ['formats'],
  ['redaction', 'schema', 'dialects'],
  ['contract', 'runtime', 'statistics', 'text'],
];

/**
 * The order inside the layers that have folders, from the top down, as above. It holds for everything that a folder
 * reaches, files beside the folders among it. A folder that is not listed is above all others.
 */
const FOLDERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  mcp: [['host'], ['http', 'stdio'], ['session']],
  'web/app': [
    ['helpers'],
    ['models'],
    ['training'],
    ['environments', 'evaluations', 'usage'],
    ['runs'],
    ['compare'],
    ['trace'],
    ['components'],
  ],
};

/** Lines that a file of src may have. */
const MAX_LINES = 320;
/** Longer files of today. A number here may fall and never rise. */
const LONG_FILES: Readonly<Record<string, number>> = {};

/** Packages that one layer alone may use, so that there is one place to change when they do. */
const OWNED_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@modelcontextprotocol/server': ['mcp'],
  '@modelcontextprotocol/client': ['client', 'mcp-client', 'process', 'upstream', 'web'],
  '@photostructure/sqlite': ['database'],
  bullmq: ['queue'],
  pg: ['database'],
  express: ['http'],
  openai: ['model'],
  commander: ['cli'],
  preact: ['web'],
  diff: ['web'],
  yaml: ['tasks'],
  yauzl: ['formats'],
  fzstd: ['formats'],
  ws: ['http', 'bridges'],
  'eventsource-parser': ['service-client', 'model', 'dialects'],
  '@opentelemetry/api': ['telemetry', 'cli'],
  '@opentelemetry/sdk-trace-base': ['cli'],
  '@opentelemetry/exporter-trace-otlp-http': ['cli'],
  '@opentelemetry/resources': ['cli'],
};

const IMPORT = /(?<!')\b(?:from|import)\s*\(?\s*'([^']+)'/g;
const VALUE_IMPORT = /^(?:import|export)\s(?!type\b)(?:[^;']*\sfrom\s*)?'([^']+)'/gm;

interface Import {
  readonly file: string;
  readonly layer: string;
  readonly specifier: string;
  readonly target: string | undefined;
}

const imports = sourceFiles(source).flatMap((file) => importsOf(file));

describe('the layers of src', () => {
  it('lists every folder of src', () => {
    const folders = readdirSync(source, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map((entry) => entry.name).filter((name) => levelOf(name) === undefined)).toEqual([]);
  });

  it('imports point down only, and siblings do not meet', () => {
    const wrong = imports.filter(
      ({ layer, target }) => target !== undefined && target !== layer && !isBelow(target, layer),
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it.each(Object.entries(FOLDERS))('the folders of %s reach down only, and siblings do not meet', (layer, order) => {
    const root = join(source, layer);
    const all = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const wrong = all.flatMap(({ name }) => {
      const level = order.findIndex((line) => line.includes(name));
      const reached = reachedFrom(sourceFiles(join(root, name)), IMPORT).files.filter((file) => file.startsWith(root));
      return reached
        .filter((file) => {
          const [folder = '', ...rest] = relative(root, file).split('/');
          const other = order.findIndex((line) => line.includes(folder));
          return rest.length > 0 && folder !== name && other !== -1 && other <= level;
        })
        .map((file) => `${layer}/${name} reaches ${relative(source, file)}`);
    });
    expect(wrong).toEqual([]);
  });

  it('files have at most 320 lines, and the longer ones of today do not grow', () => {
    const wrong = sourceFiles(source).flatMap((path) => {
      const file = relative(source, path);
      const lines = readFileSync(path, 'utf8').split('\n').length - 1;
      const limit = LONG_FILES[file] ?? MAX_LINES;
      return lines > limit ? [`${file} has ${lines} lines, and may have ${limit}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  it('no layer imports a public entry of the package', () => {
    const wrong = imports.filter(({ layer, specifier }) => layer !== '' && /^proctor(\/|$)/.test(specifier));
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('a package that belongs to one layer is imported there alone', () => {
    const wrong = imports.filter(({ layer, specifier }) => {
      const owner = Object.entries(OWNED_PACKAGES).find(
        ([name]) => specifier === name || specifier.startsWith(`${name}/`),
      );
      return owner !== undefined && !owner[1].includes(layer);
    });
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('what runs in browsers reaches nothing but Preact, a reader of server-sent events, a comparison of texts, the shapes of the wire, and code without packages; the page of the helpers uses the MCP client', () => {
    const app = join(source, 'web/app/');
    const client = join(source, 'mcp-client/');
    const reached = reachedFrom(sourceFiles(app).filter((file) => !file.endsWith('.d.ts')));
    const isAllowed = ({ file, specifier }: Import) =>
      /^(preact|eventsource-parser|diff)(\/|$)/.test(specifier) ||
      (file.startsWith(join(app, 'helpers/')) && ['@modelcontextprotocol/client', 'zod/v4/core'].includes(specifier)) ||
      (file.startsWith(client) && ['@modelcontextprotocol/client', 'zod'].includes(specifier));
    const packages = reached.values.filter((each) => each.target === undefined && !isAllowed(each));
    expect(packages.map(describeImport)).toEqual([]);
    const users = reachedFrom([join(app, 'main.tsx'), join(app, 'standalone.tsx')]).files;
    expect(users.filter((file) => file.startsWith(join(app, 'helpers/')) || file.startsWith(client))).toEqual([]);
    const folders = new Set(reached.files.filter((file) => !file.startsWith(app)).map(layerOf));
    expect(
      [...folders].filter(
        (layer) => !['contract', 'mcp-client', 'runtime', 'service-client', 'text', 'trace', 'web'].includes(layer),
      ),
    ).toEqual([]);
  });

  it('proctor/client loads no code of the MCP server, and few files', () => {
    const { files } = reachedFrom([join(source, 'client.ts')]);
    expect(files.filter((file) => ['mcp', 'environment', 'http'].includes(layerOf(file)))).toEqual([]);
    expect(files.length).toBeLessThanOrEqual(55);
  });

  it('one file makes MCP clients, and one file changes a transport', () => {
    const filesWith = (pattern: RegExp) =>
      sourceFiles(source).filter((file) => pattern.test(readFileSync(file, 'utf8')));
    const toNames = (files: readonly string[]) => files.map((file) => relative(source, file)).sort();
    expect(toNames(filesWith(/new Client\(|extends Client\b/))).toEqual(['mcp-client/connection.ts']);
    expect(toNames(filesWith(/\.send = /))).toEqual(['mcp/linked-transports.ts']);
  });

  it('the contract imports zod alone, and asks nothing of Node.js', () => {
    const wrong = imports.filter(
      ({ layer, specifier, target }) => layer === 'contract' && target === undefined && specifier !== 'zod',
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('http/ holds no client: the layers that ask other servers import nothing of it', () => {
    const clients = ['client', 'service-client', 'model', 'upstream', 'mcp-client', 'process'];
    const wrong = imports.filter(({ layer, target }) => clients.includes(layer) && target === 'http');
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('a worker reaches no file of a route', () => {
    const { files } = reachedFrom([join(source, 'run-service/worker.ts')]);
    const routes = files
      .map((file) => relative(source, file))
      .filter((file) => /^trace-routes\/|-route\.ts$/.test(file));
    expect(routes).toEqual([]);
  });

  it('the rest of src takes nothing of what runs in browsers', () => {
    const app = join(source, 'web/app/');
    const wrong = imports.filter(
      ({ file, specifier }) => !file.startsWith(app) && resolve(dirname(file), specifier).startsWith(app),
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('HTTP is served by the transport of this project alone', () => {
    const stock =
      /createMcpHandler|(?:HTTP|Http|SSE)ServerTransport|toNodeHandler|legacyStatelessFallback|@modelcontextprotocol\/(?:node|express|server-legacy)\b/;
    const users = sourceFiles(source).filter((file) => stock.test(readFileSync(file, 'utf8')));
    expect(users.map((file) => relative(source, file))).toEqual([]);
  });

  it('no two files import each other, however long the way round', () => {
    expect(findCycle()).toEqual([]);
  });
});

function levelOf(layer: string): number | undefined {
  const level = LAYERS.findIndex((line) => line.includes(layer));
  return level === -1 ? undefined : level;
}

function isBelow(target: string, layer: string): boolean {
  if (layer === '') return true;
  const from = levelOf(layer);
  const to = levelOf(target);
  return from !== undefined && to !== undefined && to > from;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

function layerOf(file: string): string {
  const [folder, ...rest] = relative(source, file).split('/');
  return rest.length === 0 ? '' : (folder ?? '');
}

function importsOf(file: string, pattern = IMPORT): Import[] {
  const text = readFileSync(file, 'utf8');
  const specifiers = [...text.matchAll(pattern)].map((match) => match[1] ?? '');
  return specifiers.map((specifier) => ({
    file,
    layer: layerOf(file),
    specifier,
    target: specifier.startsWith('.') ? layerOf(resolve(dirname(file), specifier)) : undefined,
  }));
}

/** The files that files reach by imports: by default those that are there when they run, which types are not. */
function reachedFrom(
  files: readonly string[],
  pattern = VALUE_IMPORT,
): {
  readonly files: readonly string[];
  readonly values: readonly Import[];
} {
  const seen = new Set(files);
  const values: Import[] = [];
  for (const file of seen) {
    for (const each of importsOf(file, pattern)) {
      values.push(each);
      if (each.target !== undefined && /\.tsx?$/.test(each.specifier)) seen.add(resolve(dirname(file), each.specifier));
    }
  }
  return { files: [...seen], values };
}

function describeImport({ file, specifier }: Import): string {
  return `${relative(source, file)} imports ${specifier}`;
}

function findCycle(): string[] {
  const graph = new Map<string, string[]>();
  for (const { file, specifier, target } of imports) {
    if (target === undefined) continue;
    graph.set(file, [...(graph.get(file) ?? []), resolve(dirname(file), specifier)]);
  }
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] => {
    const start = path.indexOf(file);
    if (start !== -1) return [...path.slice(start), file].map((each) => relative(source, each));
    if (done.has(file)) return [];
    path.push(file);
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next);
      if (cycle.length > 0) return cycle;
    }
    path.pop();
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const cycle = visit(file);
    if (cycle.length > 0) return cycle;
  }
  return [];
}
