import { close, EnvironmentServer, type InitializeContext, initialize, shutdown, tool } from 'proctor';

export default class Lighthouse extends EnvironmentServer {
  #size = '';

  constructor() {
    super({ name: 'lighthouse' });
  }

  @initialize
  open({ meta }: InitializeContext): void {
    this.#size = `${meta.display_width} x ${meta.display_height}`;
  }

  @close
  leave(): void {
    this.#size = '';
  }

  @shutdown
  tellTheHarbour(): void {
    console.log('The lighthouse is closed.');
  }

  @tool({ description: 'Says what can be seen.' })
  look(): string {
    return this.#size === '' ? 'It is dark.' : `A light of ${this.#size}.`;
  }
}
