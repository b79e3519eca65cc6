import { EnvironmentServer, type ToolContext } from 'proctor';

const POLICY = 'You move passengers to later flights.';

/** A desk with a passenger who tells a wish in pieces. */
export default function desk(): EnvironmentServer {
  const env = new EnvironmentServer({ name: 'desk', version: '1.0.0' });
  let isMoved = false;
  env.tool('move', { description: 'Moves the passenger to the later flight.' }, () => {
    isMoved = true;
  });

  env.scenario(
    'passenger',
    {
      system: POLICY,
      user: { instructions: 'You are Ines Aster. You want the later flight.' },
    },
    async function* () {
      isMoved = false;
      yield []; // the user begins
      return isMoved ? 1 : 0;
    },
  );

  env.scenario('explain', {}, async function* (_args: object, { judge }: ToolContext) {
    const answer: string = yield 'Explain recursion to a child.';
    const { score, reasons } = await judge({ rubric: 'A child of eight understands it.', material: answer });
    return { reward: score, info: { reasons: [...reasons] } };
  });
  return env;
}

/** A user that is code. */
export const patient = (conversation: readonly unknown[]) => (conversation.length < 4 ? 'And then?' : null);
