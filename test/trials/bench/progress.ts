/** Where the bench is: one line that changes on a terminal, elsewhere a line for each row. */
export interface Progress {
  next(row: string): void
  say(text: string): void
  end(): void
}

export function createProgress(rows: number, output: NodeJS.WriteStream = process.stderr): Progress {
  let row = ''
  let count = 0
  const write = (text: string) => {
    const line = `${process.uptime().toFixed(0).padStart(5)} s  [${count}/${rows}] ${row}${text && `: ${text}`}`
    if (output.isTTY) output.write(`\r\x1b[2K${line.slice(0, output.columns - 1)}`)
    else output.write(`${line}\n`)
  }
  return {
    next(name) {
      row = name
      count += 1
      write('')
    },
    say: write,
    end() {
      if (output.isTTY) output.write('\r\x1b[2K')
    },
  }
}
