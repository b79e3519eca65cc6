import { EnvironmentServer, Hub, serveMain } from 'proctor';

/** A stall whose customers are a model with a purse, and code. */
export default function createMarket(): EnvironmentServer {
  const market = new EnvironmentServer({ name: 'market', sessionsPerProcess: 10 });
  let coins = 3;
  const told: string[] = [];
  market.tool('weigh', {}, () => '2 kg');
  market.mount(
    new Hub('wallet', { audience: 'user' }).tool('pay', {}, () => {
      coins -= 1;
      return { coins };
    }),
  );
  market.scenario('model', { user: { instructions: 'You want pears.', tools: ['pay'] } }, async function* (_args, ctx) {
    yield 'A customer comes.';
    return { reward: coins === 2 ? 1 : 0, info: { conversation: ctx.conversation.map(({ content }) => content) } };
  });
  const haggle = (conversation: readonly { readonly content: string }[]) => {
    told.push(conversation.at(-1)?.content ?? '');
    return told.length < 2 ? 'Too dear.' : 'Then no. ###STOP### I go.';
  };
  market.scenario('code', { user: haggle }, async function* (_args, ctx) {
    yield 'A customer comes.';
    return {
      reward: told.length === 2 ? 1 : 0,
      info: { conversation: ctx.conversation.map(({ content }) => content) },
    };
  });
  return market;
}

serveMain(import.meta, createMarket);
