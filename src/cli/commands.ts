import { type Command, Option } from 'commander';
import type { EngineName } from '../environment/sandbox/engine.ts';

type LoadCommand = () => Promise<(program: Command) => void>;

/** Commands by heading, in the order of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, LoadCommand>>>> = {
  'Write environments': {
    init: async () => (await import('./write/init.ts')).addInitCommand,
    list: async () => (await import('./write/list.ts')).addListCommand,
    dev: async () => (await import('./write/dev.ts')).addDevCommand,
    mcp: async () => (await import('./write/mcp.ts')).addMcpCommand,
  },
  'Play scenarios': {
    run: async () => (await import('./play/run.ts')).addRunCommand,
    chat: async () => (await import('./play/chat.ts')).addChatCommand,
    seat: async () => (await import('./play/seat.ts')).addSeatCommand,
    agents: async () => (await import('./play/agents.ts')).addAgentsCommand,
    replay: async () => (await import('./play/replay.ts')).addReplayCommand,
    demo: async () => (await import('./write/demo.ts')).addDemoCommand,
  },
  'Evaluate models': {
    eval: async () => (await import('./evaluate/eval.ts')).addEvalCommand,
    judge: async () => (await import('./evaluate/judge.ts')).addJudgeCommand,
    regrade: async () => (await import('./evaluate/regrade.ts')).addRegradeCommand,
  },
  'Trust rewards': {
    check: async () => (await import('./trust/check.ts')).addCheckCommand,
  },
  'Train models': {
    dataset: async () => (await import('./train/dataset.ts')).addDatasetCommand,
    train: async () => (await import('./train/train.ts')).addTrainCommand,
    models: async () => (await import('./train/models.ts')).addModelsCommand,
  },
  Serve: {
    serve: async () => (await import('./serve/serve.ts')).addServeCommand,
    worker: async () => (await import('./serve/worker.ts')).addWorkerCommand,
    scenarios: async () => (await import('./write/scenarios.ts')).addScenariosCommand,
    ors: async () => (await import('./serve/ors.ts')).addOrsCommand,
    openenv: async () => (await import('./serve/openenv.ts')).addOpenEnvCommand,
    open: async () => (await import('./serve/open.ts')).addOpenCommand,
    keys: async () => (await import('./serve/keys.ts')).addKeysCommand,
    sandboxes: async () => (await import('./serve/sandboxes.ts')).addSandboxesCommand,
    doctor: async () => (await import('./serve/doctor.ts')).addDoctorCommand,
  },
  'Exchange traces': {
    traces: async () => (await import('./exchange/traces.ts')).addTracesCommand,
    export: async () => (await import('./exchange/export.ts')).addExportCommand,
    import: async () => (await import('./exchange/import.ts')).addImportCommand,
  },
};

/** Commands that start environments, which may have sandboxes. */
const START_ENVIRONMENTS: ReadonlySet<string> = new Set(
  'list dev mcp run chat seat replay demo eval regrade check serve worker scenarios ors openenv sandboxes doctor'.split(
    ' ',
  ),
);

const ENGINES: readonly EngineName[] = ['bubblewrap', 'docker', 'kubernetes', 'none'];

/** The option is written to the variable, which is the one place that settings of sandboxes are read from. */
function addSandboxOption(command: Command): void {
  command
    .addOption(new Option('--sandbox <engine>', 'engine of sandboxes (default: PROCTOR_SANDBOX)').choices(ENGINES))
    .hook('preAction', () => {
      const { sandbox } = command.opts<{ sandbox?: string }>();
      if (sandbox !== undefined) process.env.PROCTOR_SANDBOX = sandbox;
    });
}

/** Each command is loaded on use, so that it does not load the packages of the others. */
export const COMMANDS: Readonly<Record<string, LoadCommand>> = Object.assign(
  {},
  ...Object.entries(GROUPS).map(inGroup),
);

function inGroup([heading, commands]: readonly [string, Readonly<Record<string, LoadCommand>>]): Record<
  string,
  LoadCommand
> {
  const grouped = Object.entries(commands).map(([name, load]): [string, LoadCommand] => [
    name,
    async () => {
      const add = await load();
      return (program) => {
        add(program);
        const command = program.commands.at(-1)?.helpGroup(`${heading}:`);
        if (command !== undefined && START_ENVIRONMENTS.has(name)) addSandboxOption(command);
      };
    },
  ]);
  return Object.fromEntries(grouped);
}
