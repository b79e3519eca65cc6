import type { FindingName } from './check.ts';

export interface FindingHelp {
  /** The question that the check asks. */
  readonly asks: string;
  readonly cause: string;
  readonly remedy: string;
}

/** The usual cause and remedy of each finding, one sentence each. docs/trust.md has the same text. */
export const FINDING_HELP: Readonly<Record<FindingName, FindingHelp>> = {
  start: {
    asks: 'Can it be started, and each task be set up in time?',
    cause: 'The module or the setup of a scenario throws, or waits for something that is not there.',
    remedy: 'Start it by proctor dev, play the task by hand, and mend the error; raise --timeout where it is slow.',
  },
  solvable: {
    asks: 'Does the solution pass?',
    cause: 'The solution is missing, is older than the tools or the grader, or a call of it fails.',
    remedy: 'Give the scenario a solution, play it with proctor/oracle, and mend the first call or check that fails.',
  },
  idle: {
    asks: 'Is an agent paid that does nothing?',
    cause: 'The state passes before anybody has worked, or the grader takes an empty answer for a right one.',
    remedy: 'Begin at a state that fails, and ask for work that shows in the state or in the answer.',
  },
  random: {
    asks: 'Is an agent paid that calls tools by chance?',
    cause: 'There are few possible moves, and the grader takes many of them.',
    remedy: 'Ask for more steps or for larger values, and compare the whole end state with the one that is wanted.',
  },
  echo: {
    asks: 'Is an agent paid that says the prompt again?',
    cause: 'The answer, or a part that the grader takes for it, stands in the prompt.',
    remedy: 'Take the answer out of the prompt, and compare the whole answer instead of looking for a part.',
  },
  leak: {
    asks: 'Is the answer told to an agent that has not worked for it?',
    cause: 'A description, a resource, a prompt, an error or another tool contains the answer.',
    remedy: 'Take it out of that place, or move the tool or the resource to the audience harness.',
  },
  forger: {
    asks: 'Is an agent paid that cheats, or does it reach keys, code or the harness?',
    cause: 'The grader believes texts of the agent, or a tool reads files and variables of the machine.',
    remedy: 'Grade the state, limit tools to a folder of their own, and run commands of agents in a sandbox.',
  },
  deterministic: {
    asks: 'Do two sessions with one seed observe the same?',
    cause: 'A prompt, a result or the reward depends on chance, on the time, or on the order of files.',
    remedy: 'Draw by ctx.seed, take the time from the arguments, or declare the part volatile.',
  },
  isolated: {
    asks: 'Does a session change what another one beside it observes?',
    cause: 'State is kept in the module, in a file with a fixed name, or on a fixed port.',
    remedy: 'Keep state in fields of the class, or set sessionsPerProcess to 1.',
  },
  order: {
    asks: 'Does a task change what a later one observes?',
    cause: 'Setup does not start over, or state outlives the session in the module or in a file.',
    remedy: 'Make all state new in each setup, and remove in a close hook what a session has made.',
  },
  clean: {
    asks: 'Is anything left after a session?',
    cause: 'A timer, a server, a child process or a temporary file is made for a session and never ended.',
    remedy: 'End it in a close hook of the environment.',
  },
  secrets: {
    asks: 'Does a process of the environment hold a key of a gateway, a trainer or the service?',
    cause: 'Its code loads the .env of the project, or reads the key from a file, and sets it as a variable.',
    remedy: 'Load a file of its own instead, with keys of its own; have its code ask models by ctx.sample.',
  },
  grader_strength: {
    asks: 'Is a changed solution paid too?',
    cause: 'The grader does not compare that argument, call or part of the answer.',
    remedy: 'Compare it with the wanted value; mark tools that change nothing as readOnlyHint.',
  },
  described: {
    asks: 'Can an agent understand the tools and their errors?',
    cause: 'A description is missing, a result is too long, or a tool throws an ordinary error.',
    remedy: 'Describe each tool and argument, return less or page by page, and throw a ToolError.',
  },
  bounded: {
    asks: 'Are rewards within 0 and 1, and do subscores agree?',
    cause: 'Points are added up without a limit, or the reward is computed apart from the subscores.',
    remedy: 'Divide by the most that can be had, or return subscores alone and no reward.',
  },
};
