import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/package-root.ts';

/** What tests run as processes of their own. */
const SOURCES = {
  service: 'src/cli/main.ts',
  worker: 'test/chaos/worker.ts',
  migrating: 'test/chaos/migrating.ts',
} as const;
export type Program = keyof typeof SOURCES;

/** Names the folder, to this process and to those it starts. */
const FOLDER = 'COUNTERSIGN_TEST_PROGRAMS';

/** Says where programs may be put together; whoever gives the folder removes it. */
export function keepProgramsIn(folder: string): void {
  process.env[FOLDER] = folder;
}

/**
 * What to hand to Node to run this program. A process whose modules were put together starts in a quarter of the time
 * that it takes from the sources; the first who needs one in a test run does that for all. Without a folder: the sources.
 */
export async function programArguments(program: Program): Promise<readonly string[]> {
  const folder = process.env[FOLDER];
  if (folder === undefined) return ['--import', 'tsx', join(packageRoot, SOURCES[program])];
  const built = join(folder, 'programs');
  if (!existsSync(built)) await buildAll(built);
  return [join(built, 'dist', `${program}.js`)];
}

/** What the programs look for beside their own `package.json`. */
const BESIDE = ['package.json', 'node_modules', 'migrations', 'src'];

async function buildAll(built: string): Promise<void> {
  // Whole or not there at all, also where two files begin at once.
  const own = `${built}.${randomUUID()}`;
  await mkdir(own, { recursive: true });
  for (const name of BESIDE) await symlink(join(packageRoot, name), join(own, name));
  const { build } = await import('vite');
  await build({
    configFile: false,
    root: packageRoot,
    logLevel: 'error',
    // These look for files beside their own.
    ssr: { noExternal: true, external: ['@electric-sql/pglite', '@fastify/swagger-ui', 'pg-native'] },
    build: {
      ssr: true,
      outDir: join(own, 'dist'),
      target: 'node20',
      minify: false,
      rolldownOptions: { input: SOURCES, output: { banner: COMMONJS_NAMES } },
    },
  });
  await rename(own, built).catch(async (error: unknown) => {
    if (!existsSync(built)) throw error;
    await rm(own, { recursive: true, force: true });
  });
}

/** Packages in CommonJS expect these, also where they are only mentioned. */
const COMMONJS_NAMES = `import { fileURLToPath as ownPath } from 'node:url';
import { dirname as ownFolder } from 'node:path';
const __filename = ownPath(import.meta.url);
const __dirname = ownFolder(__filename);`;
