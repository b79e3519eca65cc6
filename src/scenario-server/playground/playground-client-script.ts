/** The part of the playground's script that speaks with the server, and knows in the page's address which session it shows. */
export const PLAYGROUND_CLIENT_SCRIPT = String.raw`
  async function ask(path, body, signal) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json', 'x-csrf-token': document.body.dataset.csrf }, body: JSON.stringify(body), signal };
    let response;
    try {
      response = await fetch(path, body === undefined ? { signal } : init);
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Error('The server cannot be reached: is it still running?');
    }
    if (response.ok) return response;
    const { error } = await response.json().catch(() => ({ error: { message: 'The server answered with status ' + response.status + '.' } }));
    throw Object.assign(new Error(error.message), { param: error.param });
  }

  async function* framesOf(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        if (error.name === 'AbortError') throw error;
        throw new Error('The connection was lost.');
      });
      if (done) return;
      const lines = (text + value).split('\n');
      text = lines.pop();
      for (const line of lines) if (line !== '') yield JSON.parse(line);
    }
  }

  /** The session in the page's address: a page that is loaded anew shows it again. */
  function remembered() {
    const [, id] = /^#session=(sess_[0-9a-f]+)$/.exec(location.hash) || [];
    return id;
  }

  /** A first turn that runs is remembered too: a page that is left then closes its session, and should say so. */
  function remember(id, isFirstTurn) {
    history.replaceState(isFirstTurn ? { isFirstTurn } : null, '', id === undefined ? location.pathname : '#session=' + id);
  }

  function hasLeftFirstTurn() {
    return history.state !== null && history.state.isFirstTurn === true;
  }
`;
