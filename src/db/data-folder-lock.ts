import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The embedded database belongs to one process at a time: two would corrupt it. */
export class DataFolderInUse extends Error {
  constructor(folder: string, pid: number) {
    super(
      `The data folder ${folder} is in use by process ${pid}. Ask that process through its API, stop it, use another dataDir, or set \`database\` to a PostgreSQL URL to run several.`,
    );
    this.name = 'DataFolderInUse';
  }
}

/** Takes the folder for this process and returns what gives it back. Throws `DataFolderInUse`. */
export async function lockDataFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'in-use-by-pid');
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      const handle = await open(file, 'wx');
      await handle.writeFile(String(process.pid));
      await handle.close();
      return () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const pid = Number(await readFile(file, 'utf8').catch(() => ''));
      if (pid > 0 && pid !== process.pid && isAlive(pid)) throw new DataFolderInUse(folder, pid);
      // Left behind by a process that was killed.
      await rm(file, { force: true });
    }
  }
  throw new Error(`The data folder ${folder} could not be locked; another process is starting with it.`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
