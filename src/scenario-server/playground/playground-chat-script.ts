/** The part of the playground's script that shows a conversation: bubbles, tool activity, the reward. */
export const PLAYGROUND_CHAT_SCRIPT = String.raw`
  const log = document.getElementById('log');
  let isFollowing = true;
  let isScheduled = false;
  addEventListener('scroll', () => {
    isFollowing = innerHeight + scrollY >= document.documentElement.scrollHeight - 120;
  }, { passive: true });

  /** Keeps the end in sight, unless somebody has scrolled away from it. */
  function follow() {
    if (isScheduled || !isFollowing) return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      scrollTo(0, document.documentElement.scrollHeight);
    });
  }

  function addBubble(kind, label, text) {
    const bubble = add(log, 'article', undefined, 'bubble ' + kind);
    add(bubble, 'h2', label);
    const body = add(bubble, 'div', text, 'text');
    follow();
    return body;
  }

  function addFolded(label, text, className) {
    const details = add(log, 'details', undefined, className);
    add(details, 'summary', label);
    const body = add(details, 'div', text, 'text');
    follow();
    return body;
  }

  /** What a turn has shown so far. */
  function createTurnView(model) {
    let text;
    let reasoning;
    const tools = new Map();
    let timer;
    function count() {
      for (const { seconds, startedAt } of tools.values()) seconds.textContent = ' ' + Math.floor((performance.now() - startedAt) / 1000) + ' s';
    }
    function stopCounting() {
      clearInterval(timer);
      timer = undefined;
    }
    return {
      prompt({ system, messages }) {
        if (system !== null) addFolded('System prompt', system, 'folded');
        for (const message of messages) addBubble('prompt', message.role === 'user' ? 'Prompt' : 'Prompt, ' + message.role, message.text);
      },
      step() {
        text = undefined;
        reasoning = undefined;
      },
      text(piece) {
        text = text || addBubble('model', model(), '');
        append(text, piece);
      },
      reasoning(piece) {
        reasoning = reasoning || addFolded('Reasoning', '', 'folded');
        append(reasoning, piece);
      },
      call({ id, name, arguments: args }) {
        const details = add(log, 'details', undefined, 'tool');
        const summary = add(details, 'summary');
        add(summary, 'code', name);
        add(summary, 'span', ' ' + brief(JSON.stringify(args)) + ' ', 'quiet');
        const state = add(summary, 'span', 'running…', 'state');
        const seconds = add(state, 'span');
        seconds.setAttribute('aria-live', 'off'); // Nobody wants each second read out.
        timer = timer || setInterval(count, 1000);
        add(details, 'h3', 'Arguments');
        add(details, 'pre', JSON.stringify(args, null, 2));
        tools.set(id, { details, state, seconds, startedAt: performance.now() });
        follow();
      },
      result({ id, text: said, images, is_error, duration_ms }) {
        const tool = tools.get(id);
        if (tool === undefined) return;
        const { details, state } = tool;
        tools.delete(id);
        if (tools.size === 0) stopCounting();
        details.classList.add(is_error ? 'bad' : 'good');
        state.textContent = (is_error ? 'error, ' : '') + duration_ms + ' ms';
        add(details, 'h3', is_error ? 'Error' : 'Result');
        if (said !== '' || images.length === 0) add(details, 'pre', said === '' ? '(nothing)' : said);
        for (const image of images) addImage(details, image);
        if (said !== '') add(details.querySelector('summary'), 'span', brief(said), 'outcome');
        follow();
      },
      /** Calls that nothing answered. */
      end() {
        stopCounting();
        for (const { details, state } of tools.values()) {
          details.classList.add('bad');
          state.textContent = 'not answered';
        }
      },
    };
  }

  function append(body, piece) {
    if (body.firstChild === null) body.append('');
    body.firstChild.appendData(visible(piece));
    follow();
  }

  function brief(text) {
    const line = text.replace(/\s+/g, ' ').trim();
    return line.length > 90 ? line.slice(0, 89) + '…' : line;
  }

  function addImage(parent, { type, data }) {
    if (!/^image\/[a-z0-9.+-]+$/i.test(type)) return;
    const image = add(parent, 'img');
    image.alt = 'Image of ' + type;
    image.src = 'data:' + type + ';base64,' + data;
  }

  function addNote(text, isBad) {
    const note = add(log, 'p', text, isBad ? 'note problem' : 'note');
    if (isBad) note.setAttribute('role', 'alert');
    follow();
  }

  function addReward({ reward, answer, evaluation, trace_url }) {
    const card = add(log, 'article', undefined, 'reward ' + (reward >= 1 ? 'good' : reward > 0 ? 'fair' : 'bad'));
    add(card, 'h2', 'Reward');
    add(card, 'p', String(Number(reward.toFixed(3))), 'number');
    if (evaluation.content !== null) add(card, 'p', evaluation.content, 'text');
    add(card, 'h3', 'Answer');
    add(card, 'pre', typeof answer === 'string' ? answer || '(empty)' : JSON.stringify(answer, null, 2));
    if (evaluation.subscores.length > 0) {
      add(card, 'h3', 'Subscores');
      const list = add(card, 'ul');
      for (const { name, value, weight } of evaluation.subscores) {
        add(list, 'li', name + ': ' + value + (weight === undefined ? '' : ' (weight ' + weight + ')'));
      }
    }
    if (Object.keys(evaluation.info).length > 0) {
      const details = add(card, 'details');
      add(details, 'summary', 'What the evaluation noted');
      add(details, 'pre', JSON.stringify(evaluation.info, null, 2));
    }
    const link = add(add(card, 'p'), 'a', 'Open the trace');
    link.href = trace_url;
    link.target = '_blank';
    link.rel = 'noopener';
    follow();
  }
`;
