import {
  chmodSync,
  closeSync,
  fdatasync,
  fsync,
  mkdirSync,
  open,
  readdirSync,
  readFileSync,
  rename,
  rmSync,
  statSync,
  unlink,
  write,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';

/**
 * The file system calls of the journal, each as in `node:fs`. Production has one implementation;
 * the simulator (`test/sim/`) has another, which can lose power.
 */
export interface Disk {
  /** Makes a directory with its parents, of mode 0700, also where it was there already. */
  makePrivateDirectory(path: string): void;
  /** The names in a directory, in no order. */
  list(path: string): readonly string[];
  /** Bytes of a file. */
  sizeOf(path: string): number;
  read(path: string): Buffer;
  /** Deletes a file at once. */
  deleteNow(path: string): void;
  /** Opens a new file of mode 0600 to write (`wx`), or a directory to sync (`r`). */
  open(path: string, flags: 'wx' | 'r'): Promise<number>;
  close(fd: number): void;
  /** Writes in the background; resolves with how many bytes the kernel took. */
  write(fd: number, bytes: Buffer, length: number, position: number): Promise<number>;
  /** Writes at once; returns how many bytes the kernel took. */
  writeNow(fd: number, bytes: Buffer, offset: number, position: number): number;
  /** Makes a file and its metadata durable; of a directory, its names. */
  sync(fd: number): Promise<void>;
  /** Makes the data of a file durable. */
  syncData(fd: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
}

const openFile = promisify(open);
const writeFile = promisify(write);

/** The file system of the machine. */
export const systemDisk: Disk = {
  makePrivateDirectory(path) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    chmodSync(path, 0o700);
  },
  list: (path) => readdirSync(path),
  sizeOf: (path) => statSync(path).size,
  read: (path) => readFileSync(path),
  deleteNow: (path) => rmSync(path),
  open: (path, flags) => openFile(path, flags, 0o600),
  close: (fd) => closeSync(fd),
  write: async (fd, bytes, length, position) =>
    (await writeFile(fd, bytes, 0, length, position)).bytesWritten,
  writeNow: (fd, bytes, offset, position) => writeSync(fd, bytes, offset, bytes.length - offset, position),
  sync: promisify(fsync),
  syncData: promisify(fdatasync),
  rename: promisify(rename),
  remove: promisify(unlink),
};
