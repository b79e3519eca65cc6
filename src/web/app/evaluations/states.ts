import { CELL_LETTERS, CELL_STATES, type CellState } from '../../evaluations/evaluation-data.ts';

export interface StateLook {
  /** The sign in a cell. What is graded shows its reward instead. */
  readonly sign: string;
  readonly title: string;
  /** One sentence for the legend. */
  readonly meaning: string;
}

export const LOOKS: Readonly<Record<CellState, StateLook>> = {
  graded: { sign: '', title: 'graded', meaning: 'It ended with an answer that was graded.' },
  limit: { sign: 'L', title: 'limit', meaning: 'It reached a limit of steps, length or time; graded as it stands.' },
  refused: { sign: 'R', title: 'refused', meaning: 'The model declined; graded as it stands.' },
  agent_error: { sign: 'A', title: 'agent error', meaning: 'The agent’s output could not be used: reward 0.' },
  model_error: { sign: 'M', title: 'model error', meaning: 'The gateway failed. No reward.' },
  infra_error: { sign: 'I', title: 'infra error', meaning: 'Environment, worker or network failed. No reward.' },
  grader_error: { sign: 'G', title: 'grader error', meaning: 'Setup or evaluation failed. No reward.' },
  invalid: { sign: 'X', title: 'invalid', meaning: 'The agent never had its tools. No reward.' },
  over_budget: { sign: '$', title: 'over budget', meaning: 'The budget was used up. No reward.' },
  cancelled: { sign: '–', title: 'cancelled', meaning: 'It was cancelled. No reward.' },
  running: { sign: '•', title: 'running', meaning: 'It is queued or runs.' },
  waiting: { sign: '↻', title: 'to be run again', meaning: 'It failed, and is run again soon.' },
  none: { sign: '', title: 'not begun', meaning: 'It has not begun.' },
};

const STATE_OF: ReadonlyMap<string, CellState> = new Map(CELL_STATES.map((state) => [CELL_LETTERS[state], state]));

export function stateOf(letter: string): CellState {
  return STATE_OF.get(letter) ?? 'none';
}

/** How a cell is coloured: by its reward where it has one. */
export type Tone = 'full' | 'part' | 'zero' | 'error' | 'off' | 'live' | 'none';

const TONES: Readonly<Partial<Record<CellState, Tone>>> = {
  over_budget: 'off',
  cancelled: 'off',
  running: 'live',
  waiting: 'live',
  none: 'none',
};

export function toneOf(state: CellState, reward: number | null, threshold: number): Tone {
  if (reward === null) return TONES[state] ?? 'error';
  if (reward >= threshold) return 'full';
  return reward > 0 ? 'part' : 'zero';
}

/** `✓` for a reward that has passed, `✕` for none, `.75` for what lies between; a letter for another outcome. */
export function signOf(state: CellState, reward: number | null, threshold: number): string {
  const { sign } = LOOKS[state];
  if (sign !== '' || reward === null) return sign;
  if (reward >= threshold) return '✓';
  if (reward <= 0) return '✕';
  // Rounded down, but never to nothing: what is below the threshold must not look like all of it.
  if (reward >= 1) return String(Math.floor(reward));
  return `.${String(Math.max(1, Math.floor(Number((reward * 100).toPrecision(12))))).padStart(2, '0')}`;
}
