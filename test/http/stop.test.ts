import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { createServer } from '../../src/http/server.ts';

describe('a server that stops', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  async function connected(port: number, question: string): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.on('error', () => {});
    socket.write(question);
    return socket;
  }

  it('waits neither for a client that never finishes its question nor for one that never reads', async () => {
    const app = createServer({ logger: pino({ level: 'silent' }), trustProxy: [] });
    let asked = 0;
    app.addHook('onRequest', async () => {
      asked += 1;
    });
    app.get('/much', async () => 'x'.repeat(50_000_000));
    app.post('/question', async () => 'answered');
    const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
    const silent = await connected(port, 'GET /much HTTP/1.1\r\nhost: x\r\n\r\n');
    silent.pause();
    await connected(port, 'POST /question HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{');
    await expect.poll(() => asked).toBe(2);
    const before = performance.now();
    await app.close();
    expect(performance.now() - before).toBeLessThan(15_000);
  }, 20_000);
});
