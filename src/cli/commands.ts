import type { Command } from 'commander';

/**
 * The commands of `proctor`, in the order of the help. Each is loaded when it is named, so that one command does not load
 * the packages of all others.
 */
export const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  init: async () => (await import('./init.ts')).addInitCommand,
  list: async () => (await import('./list.ts')).addListCommand,
  run: async () => (await import('./run.ts')).addRunCommand,
  eval: async () => (await import('./eval.ts')).addEvalCommand,
  check: async () => (await import('./check.ts')).addCheckCommand,
  replay: async () => (await import('./replay.ts')).addReplayCommand,
  regrade: async () => (await import('./regrade.ts')).addRegradeCommand,
  train: async () => (await import('./train.ts')).addTrainCommand,
  seat: async () => (await import('./seat.ts')).addSeatCommand,
  agents: async () => (await import('./agents.ts')).addAgentsCommand,
  judge: async () => (await import('./judge.ts')).addJudgeCommand,
  chat: async () => (await import('./chat.ts')).addChatCommand,
  serve: async () => (await import('./serve.ts')).addServeCommand,
  worker: async () => (await import('./worker.ts')).addWorkerCommand,
  scenarios: async () => (await import('./scenarios.ts')).addScenariosCommand,
  ors: async () => (await import('./ors.ts')).addOrsCommand,
  openenv: async () => (await import('./openenv.ts')).addOpenEnvCommand,
  open: async () => (await import('./open.ts')).addOpenCommand,
  models: async () => (await import('./models.ts')).addModelsCommand,
  dataset: async () => (await import('./dataset.ts')).addDatasetCommand,
  keys: async () => (await import('./keys.ts')).addKeysCommand,
  traces: async () => (await import('./traces.ts')).addTracesCommand,
  export: async () => (await import('./export.ts')).addExportCommand,
  import: async () => (await import('./import.ts')).addImportCommand,
  dev: async () => (await import('./dev.ts')).addDevCommand,
  mcp: async () => (await import('./mcp.ts')).addMcpCommand,
  doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
  demo: async () => (await import('./demo.ts')).addDemoCommand,
};
