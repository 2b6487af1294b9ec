"""Runs the SQL of a page in an engine: run_sql.py ENGINE < blocks > answers.

blocks is a JSON array of {"name", "sql"} in their order; answers one of {"name", "columns", "rows"} for each that ends in a
SELECT. chdb spells two things otherwise, as docs/sql.md says.
"""
import json
import re
import sys


def duckdb_engine():
    import duckdb
    connection = duckdb.connect()

    def run(sql):
        result = connection.execute(sql)
        columns = [d[0] for d in result.description]
        return columns, result.fetchall()
    return run


def chdb_engine():
    from chdb import session
    s = session.Session()

    def run(sql):
        sql = re.sub(r"'([^']*\.parquet)'", r"file('\1')", sql)
        sql = re.sub(r"quantile_cont\(([^(),]+), ([0-9.]+)\)", r"quantileExactInclusive(\2)(\1)", sql)
        if sql.lstrip().startswith("CREATE"):
            s.query(sql)
            return [], []
        text = s.query(sql + "\nSETTINGS output_format_json_quote_64bit_integers = 0", "JSONCompact").bytes()
        answer = json.loads(text)
        return [m["name"] for m in answer["meta"]], answer["data"]
    return run


def statements(sql):
    return [s.strip() for s in sql.split(";") if s.strip()]


run = {"duckdb": duckdb_engine, "chdb": chdb_engine}[sys.argv[1]]()
answers = []
for block in json.load(sys.stdin):
    for statement in statements(block["sql"]):
        try:
            columns, rows = run(statement)
        except Exception as e:
            sys.exit(f"{block['name']}: {e}\n{statement}")
        if not statement.startswith("CREATE"):
            answers.append({"name": block["name"], "columns": columns, "rows": [list(r) for r in rows]})
json.dump(answers, sys.stdout)
