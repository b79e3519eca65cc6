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
  seat: async () => (await import('./seat.ts')).addSeatCommand,
  agents: async () => (await import('./agents.ts')).addAgentsCommand,
  chat: async () => (await import('./chat.ts')).addChatCommand,
  serve: async () => (await import('./serve.ts')).addServeCommand,
  worker: async () => (await import('./worker.ts')).addWorkerCommand,
  scenarios: async () => (await import('./scenarios.ts')).addScenariosCommand,
  open: async () => (await import('./open.ts')).addOpenCommand,
  keys: async () => (await import('./keys.ts')).addKeysCommand,
  traces: async () => (await import('./traces.ts')).addTracesCommand,
  dev: async () => (await import('./dev.ts')).addDevCommand,
  mcp: async () => (await import('./mcp.ts')).addMcpCommand,
  doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
  demo: async () => (await import('./demo.ts')).addDemoCommand,
};
