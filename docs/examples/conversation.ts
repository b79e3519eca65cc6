import { EnvironmentServer, type ToolContext } from 'proctor';

const POLICY = 'You move passengers to later flights.';
let isMoved = false;
const isRight = () => isMoved;

/** A desk with a passenger who tells a wish in pieces. */
export default function desk(): EnvironmentServer {
  const environment = new EnvironmentServer({ name: 'desk', version: '1.0.0' });
  environment.tool('move', { description: 'Moves the passenger to the later flight.' }, () => {
    isMoved = true;
  });

  environment.scenario(
    'passenger',
    {
      system: POLICY,
      user: { instructions: 'You are Ines Aster. You want the later flight.' },
    },
    async function* () {
      yield []; // the user begins
      return isRight() ? 1 : 0;
    },
  );

  const explain = async function* (_args: object, { judge }: ToolContext) {
    const answer: string = yield 'Explain recursion to a child.';
    const { score, reasons } = await judge({ rubric: 'A child of eight understands it.', material: answer });
    return { reward: score, info: { reasons: [...reasons] } };
  };
  environment.scenario('explain', {}, explain);
  return environment;
}

/** A user that is code. */
export const patient = (conversation: readonly unknown[]) => (conversation.length < 4 ? 'And then?' : null);
