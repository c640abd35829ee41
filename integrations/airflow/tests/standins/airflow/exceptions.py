class AirflowException(Exception):
    pass


class AirflowSkipException(AirflowException):
    pass
