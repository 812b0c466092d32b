// A server of tools as a child process, by the SDK's own classes: `node mcp-stdio-server.mjs <folder> [mode]`. What it
// lists stands in the folder's tools.json, read anew for each listing; what it was asked to do it writes to calls.jsonl.
import { appendFileSync, existsSync, readFileSync, watch } from 'node:fs';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [folder, mode = 'orderly'] = process.argv.slice(2);
appendFileSync(`${folder}/started.jsonl`, `${JSON.stringify({ pid: process.pid, env: process.env })}\n`);

if (mode === 'stubborn') {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1_000);
}
if (mode === 'crash' || existsSync(`${folder}/down`)) process.exit(3);
if (mode === 'silent') {
  setInterval(() => {}, 1_000);
} else if (mode === 'flood') {
  const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n`.repeat(
    500,
  );
  const pour = () => process.stdout.write(line, () => setImmediate(pour));
  pour();
} else if (mode === 'endless-line') {
  const pour = () => process.stdout.write('x'.repeat(1 << 20), () => setImmediate(pour));
  pour();
} else {
  if (mode === 'chatty')
    for (let line = 0; line < 5_000; line += 1) console.error(`line ${line} ${'x'.repeat(2_000)}`);
  if (mode === 'greets') console.log('Welcome!');
  const server = new Server(
    { name: 'files', version: '1' },
    { capabilities: { tools: { listChanged: true } } },
  );
  let listings = 0;
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    listings += 1;
    const tools = JSON.parse(readFileSync(`${folder}/tools.json`, 'utf8'));
    if (mode === 'circles') return { tools, nextCursor: 'again' };
    if (mode === 'pages') return { tools, nextCursor: `page ${listings}` };
    return { tools };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    appendFileSync(`${folder}/calls.jsonl`, `${JSON.stringify(params)}\n`);
    switch (params.name) {
      case 'fail':
        return { content: [{ type: 'text', text: 'no such file' }], isError: true };
      case 'hang':
        return new Promise(() => {});
      case 'die':
        process.exit(9);
        break;
      case 'throw':
        throw new Error('something broke inside');
      case 'big':
        return { content: [{ type: 'text', text: '{"id":12345678901234567890}' }] };
      case 'deep':
        return { content: [], structuredContent: { a: JSON.parse('['.repeat(4_000) + ']'.repeat(4_000)) } };
      case 'picture':
        return {
          content: [
            { type: 'text', text: 'look' },
            { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          ],
        };
      default:
        return {
          content: [{ type: 'text', text: JSON.stringify({ did: params.name, with: params.arguments }) }],
        };
    }
  });
  await server.connect(new StdioServerTransport());
  watch(folder, (_event, name) => {
    if (name === 'tools.json') server.sendToolListChanged().catch(() => {});
  });
}
