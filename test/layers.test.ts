import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** The districts, from the top down. A file imports from its own district and from the lines below; districts of one line never meet. */
const DISTRICTS: readonly (readonly string[])[] = [
  ['cli'],
  ['service'],
  ['training', 'web'],
  ['evaluation', 'client'],
  ['rollout'],
  ['environment', 'store'],
  ['models'],
  ['support'],
  ['contract'],
];

/**
 * The order of the folders inside a folder, from the top down, as above. Files beside the folders belong to no line: they
 * are what the folders share, or what puts them together. A folder that is not listed is above all others.
 */
const FOLDERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  cli: [['write'], ['exchange'], ['evaluate', 'play', 'serve', 'train', 'trust'], ['base']],
  environment: [
    ['client', 'dev'],
    ['server'],
    ['composition', 'tools'],
    ['mcp-client'],
    ['authoring'],
    ['sandbox'],
    ['process'],
  ],
  'environment/sandbox': [
    ['sessions'],
    ['bubblewrap', 'docker', 'kubernetes', 'none'],
    ['local'],
    ['files', 'network'],
  ],
  'environment/authoring': [['decorators'], ['schema']],
  'environment/server': [['start'], ['host'], ['http', 'stdio'], ['session']],
  evaluation: [['testing'], ['checks'], ['replays'], ['evaluations'], ['statistics', 'tasks']],
  'evaluation/checks': [['tries'], ['player', 'reports']],
  'evaluation/replays': [['fork', 'regrade'], ['replay']],
  models: [['gateway'], ['dialects']],
  'models/dialects': [['responses'], ['chat', 'gemini', 'messages']],
  rollout: [['seats'], ['agents', 'session']],
  'rollout/session': [['judge'], ['user']],
  service: [['runs'], ['chat'], ['bridges', 'config', 'traces']],
  'service/runs': [['routes'], ['worker']],
  store: [
    ['accounts', 'models', 'queue', 'traces'],
    ['database', 'formats'],
  ],
  'store/database': [['postgres', 'sqlite'], ['tables']],
  'store/formats': [
    ['inspect', 'verifiers'],
    ['atif', 'lines'],
  ],
  support: [['http', 'telemetry'], ['runtime'], ['redaction', 'schema', 'text']],
  'support/http': [['reply'], ['api']],
  training: [
    ['jobs', 'imitation'],
    ['providers', 'dataset'],
  ],
  web: [['app'], ['evaluations']],
  'web/app': [
    ['helpers', 'models', 'playground'],
    ['environments', 'training'],
    ['evaluations', 'runs'],
    ['compare'],
    ['checks', 'trace', 'usage'],
    ['components', 'style'],
  ],
};
/** Folders whose order holds for all that is reached too, through the files beside the folders. */
const HELD_THROUGHOUT = ['environment/server'];

/** Files that one folder may have beside its folders. */
const MAX_FILES = 25;
/** Pairs of districts of which one imports the other. */
const MAX_ARROWS = 60;

/** Lines that a file of src may have. */
const MAX_LINES = 320;
/** Longer files of today. A number here may fall and never rise. */
const LONG_FILES: Readonly<Record<string, number>> = {};

/** Packages that these folders alone may use, so that there is one place to change when they do. */
const OWNED_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@modelcontextprotocol/server': ['environment/server'],
  '@modelcontextprotocol/client': [
    'environment/client',
    'environment/composition',
    'environment/mcp-client',
    'environment/process',
    'web',
  ],
  '@photostructure/sqlite': ['store/database'],
  bullmq: ['store/queue'],
  pg: ['store/database'],
  express: ['support/http'],
  openai: ['models/gateway'],
  commander: ['cli'],
  preact: ['web'],
  diff: ['web'],
  yaml: ['evaluation/tasks'],
  yauzl: ['store/formats'],
  fzstd: ['store/formats'],
  ws: ['support/http', 'service/bridges'],
  'eventsource-parser': ['client', 'models'],
  '@opentelemetry/api': ['support/telemetry', 'cli'],
  '@opentelemetry/sdk-trace-base': ['cli'],
  '@opentelemetry/exporter-trace-otlp-http': ['cli'],
  '@opentelemetry/resources': ['cli'],
};

/** Files that read `process.env` outside `config` and `cli`. A file may leave these lists; a new one needs one of the reasons. */
const READS_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  'It is a program or a thread of its own, or reads how such a one was started.': [
    'environment/server/start/development.ts',
    'environment/server/start/environment-child.ts',
    'environment/server/start/environment-start.ts',
    'environment/server/harness-key.ts',
    'environment/server/host/host-control.ts',
    'environment/server/stdio/protocol-output.ts',
    'evaluation/checks/player/preload-clock.ts',
    'evaluation/checks/tries/preload-probe.ts',
  ],
  'It starts programs, which get some variables of this process.': [
    'rollout/agents/agent-start.ts',
    'rollout/agents/agents.ts',
    'environment/client/environment-link.ts',
    'environment/client/pool/hosted-link.ts',
    'environment/process/run-cgroup.ts',
    'environment/sandbox/none/engine.ts',
    'environment/process/run-mark.ts',
    'environment/process/start-cache/own-bundle.ts',
    'environment/process/watchdog.ts',
    'evaluation/tasks/run-module.ts',
    'training/providers/command.ts',
    'evaluation/checks/player/shifted-clock.ts',
    'environment/composition/upstream-link.ts',
  ],
  'A public function takes its defaults from the variables of the operator, as the command line does.': [
    'environment/server/environment-host.ts',
    'environment/server/http/serve-over-http.ts',
    'environment/server/serve.ts',
    'service/runs/installation.ts',
    'service/chat/serve-scenarios.ts',
    'client/local-service-client.ts',
    'support/telemetry/trace-span.ts',
    'store/traces/database-store.ts',
  ],
  'It has the words in a text alone.': [
    'rollout/agents/agent-definition.ts',
    'models/gateway/reference/forgeries.ts',
    'environment/process/child-variables.ts',
  ],
};

/** Files with a module-level `let`. A file may leave these lists; a new one needs one of the reasons. */
const KEEPS_STATE: Readonly<Record<string, readonly string[]>> = {
  'It is a program, a thread or a page of its own, so that its module is its state.': [
    'store/database/sqlite/sqlite-scan-thread.ts',
    'environment/server/host/loop-watch-thread.ts',
    'environment/server/loaded-files-hook.ts',
    'evaluation/checks/tries/preload-probe.ts',
    'web/app/trace/go-to.ts',
    'web/app/trace/steps/lazy-section.tsx',
  ],
  'A process has it once: its standard output, its module hooks, its watchdog, its control groups, its run marks.': [
    'environment/server/load-module.ts',
    'environment/server/stdout-guard.ts',
    'environment/process/memory-watch.ts',
    'environment/process/run-cgroup.ts',
    'environment/process/run-mark.ts',
    'environment/process/watchdog.ts',
  ],
  'It remembers a fact of this machine that takes long to find out.': [
    'rollout/agents/sandbox.ts',
    'environment/process/process-group.ts',
  ],
};

const IMPORT = /(?<!')\b(?:from|import)\s*\(?\s*'([^']+)'/g;
const VALUE_IMPORT = /^(?:import|export)\s(?!type\b)(?:[^;']*\sfrom\s*)?'([^']+)'/gm;

interface Import {
  readonly file: string;
  readonly district: string;
  readonly specifier: string;
  readonly target: string | undefined;
}

const imports = sourceFiles(source).flatMap((file) => importsOf(file));

describe('the districts of src', () => {
  it('lists every folder of src', () => {
    expect(foldersIn(source).filter((name) => lineOf(DISTRICTS, name) === -1)).toEqual([]);
  });

  it('imports point down only, and districts of one line do not meet', () => {
    const wrong = imports.filter(({ district, target }) => {
      if (district === '' || target === undefined || target === district) return false;
      return lineOf(DISTRICTS, target) <= lineOf(DISTRICTS, district);
    });
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it(`at most ${MAX_ARROWS} pairs of districts import each other`, () => {
    const arrows = imports
      .filter(({ district, target }) => district !== '' && target !== undefined && target !== district)
      .map(({ district, target }) => `${district} imports ${target}`);
    expect([...new Set(arrows)].length).toBeLessThanOrEqual(MAX_ARROWS);
  });

  it.each(Object.entries(FOLDERS))('the folders of %s import down only, and siblings do not meet', (folder, order) => {
    const root = join(source, folder);
    const wrong = foldersIn(root).flatMap((name) => {
      const own = sourceFiles(join(root, name));
      const reached = HELD_THROUGHOUT.includes(folder)
        ? reachedFrom(own, IMPORT).files
        : own.flatMap((file) => importsOf(file)).flatMap(({ file, specifier }) => resolve(dirname(file), specifier));
      return reached
        .filter((file) => {
          const [other = '', ...rest] = relative(root, file).split('/');
          const isBeside = !file.startsWith(`${root}/`) || rest.length === 0 || other === name;
          return !isBeside && lineOf(order, other) <= lineOf(order, name);
        })
        .map((file) => `${folder}/${name} reaches ${relative(source, file)}`);
    });
    expect([...new Set(wrong)]).toEqual([]);
  });

  it(`a folder has at most ${MAX_FILES} files beside its folders`, () => {
    const counts = new Map<string, number>();
    for (const file of sourceFiles(source)) {
      const folder = relative(source, dirname(file));
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    const wrong = [...counts].filter(([, count]) => count > MAX_FILES);
    expect(wrong.map(([folder, count]) => `${folder} has ${count}`)).toEqual([]);
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

  it('variables of the process are read in config and cli, and elsewhere for a listed reason', () => {
    const files = filesOfSource(/\bprocess\.env\b/).filter((file) => !/^(cli|service\/config)\//.test(file));
    expect(files).toEqual(Object.values(READS_VARIABLES).flat().sort());
  });

  it('modules keep no state of their own, but for a listed reason', () => {
    expect(filesOfSource(/^(?:export )?let /m)).toEqual(Object.values(KEEPS_STATE).flat().sort());
  });

  it('no object literal is spread into another: its fields stand in it', () => {
    expect(filesOfSource(/\.\.\.\{/)).toEqual([]);
  });

  it('no district imports a public entry of the package', () => {
    const wrong = imports.filter(({ district, specifier }) => district !== '' && /^proctor(\/|$)/.test(specifier));
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('a package that belongs to folders is imported there alone', () => {
    const wrong = imports.filter(({ file, specifier }) => {
      const owner = Object.entries(OWNED_PACKAGES).find(
        ([name]) => specifier === name || specifier.startsWith(`${name}/`),
      );
      return owner !== undefined && !owner[1].some((folder) => file.startsWith(join(source, folder, '/')));
    });
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('what runs in browsers reaches nothing but Preact, a reader of server-sent events, a comparison of texts, the shapes of the wire, and code without packages; the page of the helpers uses the MCP client', () => {
    const app = join(source, 'web/app/');
    const client = join(source, 'environment/mcp-client/');
    const reached = reachedFrom(sourceFiles(app).filter((file) => !file.endsWith('.d.ts')));
    const isAllowed = ({ file, specifier }: Import) =>
      /^(preact|eventsource-parser|diff)(\/|$)/.test(specifier) ||
      (file.startsWith(join(app, 'helpers/')) && ['@modelcontextprotocol/client', 'zod/v4/core'].includes(specifier)) ||
      (file.startsWith(client) && ['@modelcontextprotocol/client', 'zod'].includes(specifier));
    const packages = reached.values.filter((each) => each.target === undefined && !isAllowed(each));
    expect(packages.map(describeImport)).toEqual([]);
    const users = reachedFrom([join(app, 'main.tsx'), join(app, 'standalone.tsx')]).files;
    expect(users.filter((file) => file.startsWith(join(app, 'helpers/')) || file.startsWith(client))).toEqual([]);
    const folders = [
      'client',
      'contract',
      'environment/mcp-client',
      'store/traces',
      'support/runtime',
      'support/text',
      'web',
    ];
    const others = reached.files.filter(
      (file) => !folders.some((folder) => file.startsWith(join(source, folder, '/'))),
    );
    expect(others.map((file) => relative(source, file))).toEqual([]);
  });

  it('proctor/client loads no code of the MCP server, and few files', () => {
    const { files } = reachedFrom([join(source, 'client.ts')]);
    expect(files.filter((file) => /\/(environment\/(server|authoring)|support\/http)\//.test(file))).toEqual([]);
    expect(files.length).toBeLessThanOrEqual(55);
  });

  it('one file makes MCP clients, and one file changes a transport', () => {
    const filesWith = (pattern: RegExp) =>
      sourceFiles(source).filter((file) => pattern.test(readFileSync(file, 'utf8')));
    const toNames = (files: readonly string[]) => files.map((file) => relative(source, file)).sort();
    expect(toNames(filesWith(/new Client\(|extends Client\b/))).toEqual(['environment/mcp-client/connection.ts']);
    expect(toNames(filesWith(/\.send = /))).toEqual(['environment/server/linked-transports.ts']);
  });

  it('the contract imports zod alone, and asks nothing of Node.js', () => {
    const wrong = imports.filter(
      ({ district, specifier, target }) => district === 'contract' && target === undefined && specifier !== 'zod',
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('support/http holds no client: the folders that ask other servers import nothing of it', () => {
    const clients = [
      'client',
      'models',
      'environment/client',
      'environment/composition',
      'environment/mcp-client',
      'environment/process',
    ];
    const wrong = imports.filter(({ file, specifier }) => {
      const isClient = clients.some((folder) => file.startsWith(join(source, folder, '/')));
      return isClient && resolve(dirname(file), specifier).startsWith(join(source, 'support/http/'));
    });
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('a worker reaches no file of a route', () => {
    const { files } = reachedFrom([join(source, 'service/runs/worker/worker.ts')]);
    const routes = files
      .map((file) => relative(source, file))
      .filter((file) => /^service\/traces\/|-routes?\.ts$/.test(file));
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

/** The line of a name in an order from the top down, or -1. */
function lineOf(order: readonly (readonly string[])[], name: string): number {
  return order.findIndex((line) => line.includes(name));
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The files of src whose text has the pattern, sorted. */
function filesOfSource(pattern: RegExp): string[] {
  const found = sourceFiles(source).filter((file) => pattern.test(readFileSync(file, 'utf8')));
  return found.map((file) => relative(source, file)).sort();
}

function districtOf(file: string): string {
  const [folder, ...rest] = relative(source, file).split('/');
  return rest.length === 0 ? '' : (folder ?? '');
}

function importsOf(file: string, pattern = IMPORT): Import[] {
  const text = readFileSync(file, 'utf8');
  const specifiers = [...text.matchAll(pattern)].map((match) => match[1] ?? '');
  return specifiers.map((specifier) => ({
    file,
    district: districtOf(file),
    specifier,
    target: specifier.startsWith('.') ? districtOf(resolve(dirname(file), specifier)) : undefined,
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
